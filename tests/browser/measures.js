// Functions that tests call in a page; each returns what is wrong with it.
'use strict';

function hasText(e) {
    return [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())
        && e.getClientRects().length && e.checkVisibility({visibilityProperty: true})
        && !e.closest('script, style, desc, title');
}

// Return the texts with fewer than so many pixels on the screen.
function smallTexts(least) {
    return [...document.querySelectorAll('body *')].filter((e) => {
        const scale = e.getScreenCTM ? e.getScreenCTM().d : 1;
        return hasText(e) && parseFloat(getComputedStyle(e).fontSize) * scale < least;
    }).map((e) => e.textContent);
}

// Return the kinds of elements whose text has a contrast of less than 4.5; open all details first.
function poorContrasts() {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const painted = (text) => {  // computed colors may be of any notation
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
    };
    const known = new Map();
    const parse = (text) => {
        if (!known.has(text)) known.set(text, painted(text));
        return known.get(text);
    };
    const blend = (c, u, alpha) => c * alpha + u * (1 - alpha);
    const over = (top, under) => (
        top.slice(0, 3).map((c, i) => blend(c, under[i], top[3])).concat(1)
    );
    const luminance = (c) => {
        const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        const [r, g, b] = c.slice(0, 3).map((v) => linear(v / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const backgrounds = new Map([[null, [255, 255, 255, 1]]]);
    const behind = (e) => {
        if (!backgrounds.has(e)) {
            const own = parse(getComputedStyle(e).backgroundColor);
            backgrounds.set(e, over(own, behind(e.parentElement)));
        }
        return backgrounds.get(e);
    };
    document.querySelectorAll('details').forEach((d) => { d.open = true; });
    const poor = [];
    for (const e of document.querySelectorAll('body *')) {
        if (!hasText(e)) continue;
        const style = getComputedStyle(e);
        const color = e.closest('svg') ? style.fill : style.color;
        const [a, b] = [luminance(parse(color)), luminance(behind(e))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const name = e.className?.baseVal ?? e.className;
        if (ratio < 4.5) poor.push([e.tagName, name, ratio.toFixed(2)].join(' '));
    }
    return [...new Set(poor)];
}

Object.assign(globalThis, {smallTexts, poorContrasts});
