'use strict';
// Boxes that scroll are reached with the Tab key, as long as their content is wider than they are.
(() => {
  const boxes = document.querySelectorAll('.scroll-box, div.graphviz, .docs-body pre');

  function update(box) {
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
      box.setAttribute('role', 'region');
      box.setAttribute('aria-label', 'Wide content');
    } else {
      for (const name of ['tabindex', 'role', 'aria-label']) {
        box.removeAttribute(name);
      }
    }
  }

  const observer = new ResizeObserver((entries) => entries.forEach((entry) => update(entry.target)));
  for (const box of boxes) {
    observer.observe(box);
  }
})();
