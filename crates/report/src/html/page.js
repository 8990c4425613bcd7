// Reads values out of the charts under the pointer or the arrow keys, and offers the other theme.
// Without it the page is complete: each chart has a table or a description that says the same.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";

  function readable(figure) {
    const data = JSON.parse(figure.dataset.readout);
    const at = figure.querySelector(".at");
    const values = figure.querySelectorAll(".legend .value");
    const drawings = [...figure.querySelectorAll("svg[data-scale]")].map((svg) => {
      const [low, high, from, to] = svg.dataset.scale.split(" ").map(Number);
      const cursor = document.createElementNS(SVG, "line");
      cursor.setAttribute("class", "cursor");
      cursor.setAttribute("y1", 0);
      cursor.setAttribute("y2", svg.viewBox.baseVal.height);
      cursor.style.display = "none";
      svg.append(cursor);
      return { svg, cursor, low, high, from: from * 10, to: to * 10 };
    });
    let shown = -1;

    function show(index) {
      shown = Math.max(0, Math.min(data.at.length - 1, index));
      at.textContent = data.labels[shown];
      values.forEach((value, i) => { value.textContent = data.values[i]?.[shown] ?? ""; });
      for (const { cursor, low, high, from, to } of drawings) {
        const x = from + ((data.at[shown] - low) / (high - low)) * (to - from);
        cursor.setAttribute("x1", x);
        cursor.setAttribute("x2", x);
        cursor.style.display = "";
      }
    }

    function hide() {
      shown = -1;
      at.textContent = "";
      values.forEach((value) => { value.textContent = ""; });
      drawings.forEach(({ cursor }) => { cursor.style.display = "none"; });
    }

    function nearest(position) {
      let best = 0;
      data.at.forEach((value, i) => {
        if (Math.abs(value - position) < Math.abs(data.at[best] - position)) best = i;
      });
      return best;
    }

    for (const { svg, low, high, from, to } of drawings) {
      svg.addEventListener("pointermove", (event) => {
        const box = svg.getBoundingClientRect();
        const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
        show(nearest(low + ((x - from) / (to - from)) * (high - low)));
      });
      svg.addEventListener("pointerleave", hide);
    }
    figure.tabIndex = 0;
    figure.addEventListener("blur", hide);
    figure.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step && event.target === figure) {
        event.preventDefault();
        show(shown < 0 ? 0 : shown + step);
      }
    });
  }

  function themes() {
    const root = document.documentElement;
    const dark = () => (root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches);
    const button = document.createElement("button");
    button.type = "button";
    const name = () => { button.textContent = dark() ? "light" : "dark"; };
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      name();
    });
    name();
    document.querySelector(".running-head")?.append(button);
  }

  document.querySelectorAll("figure[data-readout]").forEach(readable);
  themes();
})();
