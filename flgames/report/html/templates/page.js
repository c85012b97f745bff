"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const figures = document.querySelectorAll("figure[data-chart]");
  const font = getComputedStyle(document.body).fontFamily;
  const config = {
    font, view: {stroke: null},
    axis: {labelFontSize: 12, titleFontSize: 12, titleFontWeight: 400, titlePadding: 10, labelPadding: 6, domain: false,
      tickSize: 4, gridWidth: 1, labelOverlap: true},
    axisY: {titleAngle: 0, titleAlign: "left", titleAnchor: "end", titleX: 0, titleY: -10, titleBaseline: "bottom"},
  };

  function draw(figure) {
    const {spec} = charts[Number(figure.dataset.chart)];
    const canvas = figure.querySelector(".canvas");
    const options = {
      renderer: "svg", actions: false, ast: true, defaultStyle: false, config,
      tooltip: {theme: "flgames", disableDefaultStyle: true},
    };
    return vegaEmbed(canvas, spec, options).then(({view}) => {
      canvas.querySelector("svg").setAttribute("aria-hidden", "true"); // the figure's label and the table beside it speak
      const toggles = [...figure.querySelectorAll(".toggle")];
      for (const toggle of toggles) {
        toggle.addEventListener("click", () => {
          const on = toggle.getAttribute("aria-pressed") !== "true";
          toggle.setAttribute("aria-pressed", String(on));
          const shown = toggles.filter((each) => each.getAttribute("aria-pressed") === "true");
          view.signal("shown", shown.map((each) => each.dataset.series)).runAsync();
        });
      }
      figure.classList.add("drawn");
    });
  }

  function sort(table, place, button) {
    const heads = table.tHead.rows[0].cells;
    const numeric = heads[place].classList.contains("number");
    const before = heads[place].getAttribute("aria-sort");
    const order = before === "none" ? (numeric ? "descending" : "ascending") : before === "ascending" ? "descending" : "ascending";
    for (const head of heads) head.setAttribute("aria-sort", "none");
    heads[place].setAttribute("aria-sort", order);
    const key = (row) => row.cells[place].dataset.key;
    const rows = [...table.tBodies[0].rows];
    rows.sort((one, other) => {
      const [a, b] = [key(one), key(other)];
      if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1; // what is not known stands last
      const found = numeric ? Number(a) - Number(b) : a.localeCompare(b, undefined, {numeric: true});
      return order === "ascending" ? found : -found;
    });
    table.tBodies[0].append(...rows);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, place) => {
      const button = head.querySelector("button");
      if (button) button.addEventListener("click", () => sort(table, place, button));
    });
  }

  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", () => {
      const text = button.parentElement.querySelector("code").textContent;
      const told = (word) => { button.textContent = word; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
      if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => told("Copied"), () => told("Select it"));
      else told("Select it");
    });
  }

  // What is folded is printed too, but for tables of many pages.
  const LONG = 60;
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")]
      .filter((each) => each.querySelectorAll("tbody tr").length <= LONG);
    for (const each of opened) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of opened) each.open = false; });

  const pause = () => new Promise((go) => { setTimeout(go); }); // text is painted before the charts
  let drawing = pause();
  for (const figure of figures) drawing = drawing.then(() => draw(figure)).then(pause);
  drawing.then(() => { document.documentElement.dataset.ready = "true"; });

  if ("live" in document.body.dataset) {
    let before = null;
    const look = () => fetch("stamp", {cache: "no-store"}).then((answer) => answer.text()).then((stamp) => {
      if (before !== null && stamp !== before) location.reload();
      before = stamp;
    }).catch(() => { document.querySelector(".live").textContent = "ended"; });
    look();
    setInterval(look, 2000);
  }
})();
