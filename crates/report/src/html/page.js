// Reads values out of the charts under the pointer or the arrow keys, copies sections as Markdown, saves charts as pictures, and
// offers the other theme.
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
    stepped(figure, (step) => show(shown < 0 ? 0 : shown + step), hide);
  }

  /** Calls `go` with -1 or 1 for the arrow keys, and `leave` when a figure is left. */
  function stepped(figure, go, leave) {
    figure.tabIndex = 0;
    figure.addEventListener("blur", leave);
    figure.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
      if (step && event.target === figure) {
        event.preventDefault();
        go(step);
      }
    });
  }

  /** The drawing of a figure for this width. */
  function drawing(figure) {
    return [...figure.querySelectorAll("svg")].find((svg) => svg.checkVisibility());
  }

  /** Reads out the marks of a chart that has no common axis: rows, bars and their parts. */
  function markable(figure) {
    const at = figure.querySelector(".at");
    let shown;

    function show(mark) {
      shown?.classList.remove("shown");
      mark?.classList.add("shown");
      shown = mark;
      at.textContent = mark?.dataset.tip ?? "";
    }

    figure.addEventListener("pointerover", (event) => show(event.target.closest("[data-tip]")));
    figure.addEventListener("pointerleave", () => show());
    const go = (step) => {
      const marks = [...drawing(figure).querySelectorAll("[data-tip]")];
      const index = marks.indexOf(shown);
      show(marks[index < 0 ? 0 : Math.max(0, Math.min(marks.length - 1, index + step))]);
    };
    stepped(figure, go, () => show());
  }

  /** Shades the edge of each table that goes on behind it. */
  function shaded() {
    const widths = new ResizeObserver((entries) => {
      for (const { target } of entries) target.classList.toggle("over", target.scrollWidth > target.clientWidth + 1);
    });
    document.querySelectorAll(".scroll").forEach((frame) => widths.observe(frame));
  }

  function button(words, name, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = words;
    made.setAttribute("aria-label", name);
    made.addEventListener("click", () => act(made));
    return made;
  }

  function tools(place, ...buttons) {
    const span = document.createElement("span");
    span.className = "tools";
    span.append(...buttons);
    place.append(span);
  }

  const escaped = (text) => text.replace(/([\\`*_[\]|#<>])/g, "\\$1");

  // What stands in a report as Markdown; controls and drawings are left out.
  function line(node) {
    if (node.nodeType === Node.TEXT_NODE) return escaped(node.data);
    if (!(node instanceof HTMLElement) || node.matches(".tools, .value, .at")) return "";
    const inner = [...node.childNodes].map(line).join(node.matches("td, th, li, div") ? " " : "");
    if (node.matches("code")) return `\`${node.textContent.replaceAll("`", " ")}\``;
    return node.matches("b, strong") && inner.trim() ? `**${inner.trim()}**` : inner;
  }

  const words = (node) => line(node).replace(/\s+/g, " ").trim();

  function table(node) {
    const rows = [...node.rows].map((row) => [...row.cells].map(words));
    const rule = [...node.rows[0].cells].map((cell) => (cell.matches(".figure") ? "---:" : "---"));
    const text = [rows[0], rule, ...rows.slice(1)].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
    return node.caption ? `${words(node.caption)}:\n\n${text}` : text;
  }

  function markdown(node) {
    const heading = { H1: "#", H2: "##", H3: "###", SUMMARY: "###" }[node.tagName];
    if (heading) return [`${heading} ${words(node)}`];
    if (node.matches("table")) return [table(node)];
    if (node.matches("ul")) return [[...node.children].map((item) => `- ${words(item)}`).join("\n")];
    if (node.matches("dl")) {
      const pairs = [...node.querySelectorAll("dt")].map((name) => `- ${words(name)}: ${words(name.nextElementSibling)}`);
      return [pairs.join("\n")];
    }
    if (node.matches("figure")) {
      const svg = node.querySelector("svg");
      return [`${words(node.querySelector("strong"))}: ${escaped(svg.getAttribute("aria-label"))}`];
    }
    if (node.matches("p")) return [words(node)];
    return [...node.children].flatMap(markdown);
  }

  async function copied(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Where a page may not, a selection can be copied.
      const focused = document.activeElement;
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      focused?.focus();
    }
  }

  function copyable(section) {
    const heading = section.querySelector("h2");
    if (!heading) return;
    const name = heading.textContent;
    const copy = async (made) => {
      await copied(`${markdown(section).filter(Boolean).join("\n\n")}\n`);
      made.textContent = "copied";
      setTimeout(() => { made.textContent = "Markdown"; }, 2000);
    };
    tools(heading, button("Markdown", `Copy “${name}” as Markdown`, copy));
  }

  /** A drawing with its title and its legend, as a picture that needs no style sheet. */
  function picture(figure) {
    const svg = drawing(figure);
    const frame = figure.getBoundingClientRect();
    const box = svg.getBoundingClientRect();
    const { width, height } = svg.viewBox.baseVal;
    const scale = width / box.width;
    const top = (box.top - frame.top) * scale;
    const made = document.createElementNS(SVG, "svg");
    const add = (to, tag, attributes, text = "") => {
      const element = document.createElementNS(SVG, tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      element.textContent = text;
      to.append(element);
      return element;
    };
    // In tenths of a pixel, with a margin of 16.
    const [full, tall] = [width + 320, Math.ceil(top + height) + 320];
    made.setAttribute("viewBox", `-160 -160 ${full} ${tall}`);
    made.setAttribute("width", full / 10);
    made.setAttribute("height", tall / 10);
    const background = getComputedStyle(document.documentElement).backgroundColor;
    add(made, "rect", { x: -160, y: -160, width: full, height: tall, fill: background });
    const place = (element) => {
      const at = element.getBoundingClientRect();
      return { x: (at.left - box.left) * scale, y: (at.top - frame.top) * scale, w: at.width * scale, h: at.height * scale };
    };
    const write = (node, text) => {
      const range = document.createRange();
      range.selectNodeContents(node);
      const { x, y, h } = place(range);
      const style = getComputedStyle(node instanceof Element ? node : node.parentElement);
      add(made, "text", {
        x, y: y + h / 2, dy: "0.35em", fill: style.color, "font-family": style.fontFamily, "font-weight": style.fontWeight,
        "font-size": parseFloat(style.fontSize) * scale,
      }, text);
    };
    const title = figure.querySelector("figcaption strong");
    write(title, title.textContent);
    for (const item of figure.querySelectorAll(".legend li")) {
      const swatch = item.querySelector(".swatch");
      const style = getComputedStyle(swatch);
      const { x, y, w, h } = place(swatch);
      if (w > 0) {
        const fill = style.backgroundColor;
        const polygon = (...points) => {
          const places = points.map(([left, down]) => `${x + (w * left) / 100},${y + (h * down) / 100}`);
          add(made, "polygon", { points: places.join(" "), fill });
        };
        if (swatch.matches(".line")) {
          add(made, "rect", { x, y: y + h / 2 - 10, width: w, height: 20, fill: style.borderTopColor });
        } else if (swatch.matches(".ring")) {
          add(made, "circle", { cx: x + w / 2, cy: y + h / 2, r: w / 2 - 10, fill: "none", stroke: style.borderTopColor, "stroke-width": 20 });
        } else if (swatch.matches(".dot")) {
          add(made, "circle", { cx: x + w / 2, cy: y + h / 2, r: w / 2, fill });
        } else if (swatch.matches(".diamond")) {
          polygon([50, 0], [100, 50], [50, 100], [0, 50]);
        } else if (swatch.matches(".triangle")) {
          polygon([50, 10], [100, 100], [0, 100]);
        } else if (swatch.matches(".cross")) {
          polygon([0, 18], [18, 0], [50, 32], [82, 0], [100, 18], [68, 50], [100, 82], [82, 100], [50, 68], [18, 100], [0, 82], [32, 50]);
        } else {
          add(made, "rect", { x, y, width: w, height: h, fill });
        }
      }
      const name = [...item.childNodes].find((node) => node.nodeType === Node.TEXT_NODE);
      write(name, name.data.trim());
    }
    const body = add(made, "g", { transform: `translate(0 ${top})` });
    const copies = [...svg.children].filter((shape) => !shape.matches(".cursor, title, desc"));
    body.append(...copies.map((shape) => shape.cloneNode(true)));
    const originals = copies.flatMap((shape) => [shape, ...shape.querySelectorAll("*")]);
    [...body.querySelectorAll("*")].forEach((shape, i) => {
      const style = getComputedStyle(originals[i]);
      for (const name of ["fill", "stroke", "stroke-dasharray", "stroke-linejoin", "font-family"]) {
        shape.setAttribute(name, style.getPropertyValue(name));
      }
      if (shape.matches(".hit")) shape.setAttribute("fill", "none");
    });
    return made;
  }

  function download(url, name) {
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
  }

  function savable(figure) {
    if (!figure.querySelector("svg")) return;
    const title = figure.querySelector("figcaption strong").textContent;
    const name = title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
    const source = () => {
      const svg = picture(figure);
      return { svg, url: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}` };
    };
    const asSvg = () => download(source().url, `${name}.svg`);
    const asPng = async () => {
      const { svg, url } = source();
      const image = new Image();
      image.src = url;
      await image.decode();
      const canvas = document.createElement("canvas");
      // Twice as fine as on the screen that it is drawn for.
      canvas.width = Number(svg.getAttribute("width")) * 2;
      canvas.height = Number(svg.getAttribute("height")) * 2;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      download(canvas.toDataURL("image/png"), `${name}.png`);
    };
    tools(figure.querySelector("figcaption"), button("SVG", `Save “${title}” as SVG`, asSvg), button("PNG", `Save “${title}” as PNG`, asPng));
  }

  function themes() {
    const root = document.documentElement;
    const dark = () => (root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches);
    const toggle = document.createElement("button");
    toggle.type = "button";
    const name = () => { toggle.textContent = dark() ? "light" : "dark"; };
    toggle.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      name();
    });
    name();
    document.querySelector(".running-head")?.append(toggle);
  }

  document.querySelectorAll("figure[data-readout]").forEach(readable);
  document.querySelectorAll("figure:has([data-tip]):not([data-readout])").forEach(markable);
  document.querySelectorAll("section").forEach(copyable);
  document.querySelectorAll("figure").forEach(savable);
  shaded();
  themes();
})();
