'use strict';
(() => {
  const sentences = JSON.parse(document.getElementById('data').textContent);
  const charts = [...document.querySelectorAll('svg.chart')];
  const columns = Number(charts[0].dataset.columns);
  let at = null;
  for (const chart of charts) {
    chart.tabIndex = chart.closest('[data-follows]') ? -1 : 0;
  }

  function show(i, reader) {
    at = Math.max(0, Math.min(sentences.length - 1, i));
    for (const chart of charts) {
      const cursor = chart.querySelector('.cursor');
      cursor.setAttribute('x', `${100 * at / columns}%`);
      cursor.classList.add('there');
    }
    for (const figure of document.querySelectorAll('figure')) {
      const shown = figure.contains(reader) ? sentences[at].join(' ') : '';
      figure.querySelector('.readout').textContent = shown;
    }
  }

  for (const chart of charts) {
    chart.addEventListener('pointermove', (event) => {
      const box = chart.getBoundingClientRect();
      show(Math.floor((event.clientX - box.left) / box.width * columns), chart);
    });
    chart.addEventListener('keydown', (event) => {
      const page = Math.max(1, Math.round(sentences.length / 10));
      const to = {
        ArrowRight: at === null ? 0 : at + 1, ArrowLeft: at === null ? sentences.length - 1 : at - 1,
        PageDown: (at ?? -page) + page, PageUp: (at ?? sentences.length) - page, Home: 0, End: sentences.length - 1,
      }[event.key];
      if (to !== undefined) {
        event.preventDefault();
        show(to, chart);
      }
    });
  }

  for (const button of document.querySelectorAll('button[data-open]')) {
    button.addEventListener('click', () => {
      for (const details of document.querySelectorAll('#decisions details')) {
        details.open = button.dataset.open === 'true';
      }
    });
  }

  function unfold() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) {
      target.open = true;
      target.querySelector('summary').focus();
    }
  }
  window.addEventListener('hashchange', unfold);
  unfold();
})();
