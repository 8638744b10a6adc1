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

// Return once all observers of sizes have been called: they precede the second frame.
function drawn() {
    return new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); });
}

// Describe the layout of a page of the manual.
function layout() {
    const wide = (e) => e.scrollWidth > e.clientWidth;
    const boxes = [...document.querySelectorAll('.scroll-box, div.graphviz, pre')];
    const clipped = (e) => wide(e) && getComputedStyle(e).overflowX !== 'auto';
    const start = (e) => e.textContent.slice(0, 50);
    const [text, navigation] = ['.docs-body', '.docs-sidebar']
        .map((selector) => document.querySelector(selector).getBoundingClientRect());
    return {
        width: document.documentElement.scrollWidth,
        small: smallTexts(11),
        scrolling: boxes.filter(wide).map(start),
        clipped: boxes.filter(clipped).map(start),
        unfocusable: boxes.filter((e) => wide(e) !== (e.tabIndex === 0)).map(start),
        pictures: [...document.querySelectorAll('object, .docs-body img')]
            .map((e) => [e.src || e.data, e.getBoundingClientRect().width]),
        textFirst: text.bottom <= navigation.top,
    };
}

// Return the text above the content of a page of the manual.
function header() {
    const parts = [...document.body.children];
    const content = parts.findIndex((e) => e.matches('.docs-book-wrapper'));
    return parts.slice(0, content).map((e) => e.innerText.trim()).join(' ');
}

// Return the links and forms around the text that leave the manual; the search stays in it.
function outerLinks() {
    return [...document.querySelectorAll('a[href^=http], form')].filter((e) => (
        !e.closest('.docs-body') && !e.closest('.docs-sidebar form')
    )).map((e) => e.outerHTML);
}

// Describe the element of a report that has the focus.
function focused() {
    const e = document.activeElement, style = getComputedStyle(e);
    const box = e.getBoundingClientRect();
    const name = e.className.baseVal ?? e.className;
    return {
        what: e.tagName.toLowerCase() + '.' + name, text: e.textContent.slice(0, 40),
        outlined: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
        top: box.top, left: box.left,
    };
}

function charts(selector = '') {
    return [...document.querySelectorAll(`svg.chart${selector}`)];
}

function rowsOfNumbers() {
    return [...document.querySelectorAll('#numbers tbody tr')];
}

// Return the charts with lines or columns outside the area between their axes.
function crossedAxes() {
    return charts().filter((chart) => {
        const edges = [...chart.querySelectorAll('.grid, .zero')]
            .map((line) => line.getBoundingClientRect());
        const drawn = [...chart.querySelectorAll('.shapes path')]
            .map((path) => path.getBoundingClientRect()).filter((box) => box.height);
        const area = chart.getBoundingClientRect();
        return !edges.length || edges.some((edge) => edge.top < area.top
            || edge.bottom > area.bottom) || drawn.some((box) => (
            box.top < Math.min(...edges.map((edge) => edge.top)) - 2
            || box.bottom > Math.max(...edges.map((edge) => edge.bottom)) + 2
            || box.left < edges[0].left - 2 || box.right > edges[0].right + 2
        ));
    }).map((chart) => chart.id);
}

// Return for each chart how many numbers of steps it shows.
function countsOfNumbers() {
    return charts().map((chart) => (
        [...chart.querySelectorAll('.tick[text-anchor=middle]')]
            .filter((text) => text.getClientRects().length).length
    ));
}

// Return the texts of charts that cover another text or leave the card of their chart.
function overlappingTexts() {
    return charts().flatMap((chart) => {
        const texts = [...chart.querySelectorAll('text')]
            .filter((text) => text.getClientRects().length);
        const boxes = texts.map((text) => text.getBoundingClientRect());
        const card = chart.closest('figure').getBoundingClientRect();
        return texts.filter((_, i) => (
            boxes[i].left < card.left || boxes[i].right > card.right
            || boxes.some((box, j) => j > i && box.left < boxes[i].right
                && boxes[i].left < box.right && box.top < boxes[i].bottom - 4
                && boxes[i].top < box.bottom - 4)
        )).map((text) => `${chart.id}: ${text.textContent}`);
    });
}

// Return for each figure whether all charts have an outage, it is wide, and its color is that of
// the legend and visible; and the entry of the legend.
function shades() {
    return [...document.querySelectorAll('figure')].map((figure) => {
        const fill = (e) => getComputedStyle(e).fill;
        const card = getComputedStyle(figure).backgroundColor;
        const [entry] = figure.querySelectorAll('.legend .outage');
        const bands = [...figure.querySelectorAll('svg.chart .outage')];
        return [bands.length === figure.querySelectorAll('svg.chart').length,
            bands.every((band) => band.getBoundingClientRect().width > 20),
            bands.every((band) => fill(band) === fill(entry)
                && ![card, 'none'].includes(fill(band))),
            entry.closest('li').textContent.trim()];
    });
}

// Return the colors of marks with a contrast of less than 3 to the card.
function poorMarks() {
    const style = getComputedStyle(document.documentElement);
    const canvas = document.createElement('canvas').getContext('2d');
    const luminance = (name) => {
        canvas.fillStyle = style.getPropertyValue(name);
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => v / 255)
            .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const names = ['--s1', '--s2', '--s3', '--s4', '--s5', '--s6', '--s7', '--s8',
        '--rim', '--soft', '--zero', '--bad', '--ink'];
    return names.filter((name) => {
        const [a, b] = [luminance(name), luminance('--card')];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 3;
    });
}

// Return the number of rows that are visible in full.
function shownRows() {
    return rowsOfNumbers().filter((row) => {
        const [box, area] = [row, row.closest('.scroll')].map((e) => e.getBoundingClientRect());
        return row.checkVisibility({contentVisibilityAuto: true}) && box.height > 10
            && box.bottom <= area.bottom + 1 && box.right <= innerWidth;
    }).length;
}

// Return for each row the different backgrounds of its cells.
function backgroundsOfRows() {
    return rowsOfNumbers().map((row) => (
        [...new Set([...row.cells].map((cell) => getComputedStyle(cell).backgroundColor))]
    ));
}

// Return for each large chart the numbers of its flags.
function flags() {
    return charts(':not(.small)').map((chart) => (
        [...chart.querySelectorAll('svg:has(.flag)')].map((flag) => (
            flag.querySelector('text')?.getClientRects().length && flag.textContent
        ))
    ));
}

globalThis.measure = {  // pages have functions of the same names
    smallTexts, poorContrasts, drawn, layout, header, outerLinks, focused, crossedAxes,
    countsOfNumbers, overlappingTexts, shades, poorMarks, shownRows, backgroundsOfRows, flags,
};
