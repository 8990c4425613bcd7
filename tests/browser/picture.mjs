// Draws the effects of a report's variants as an image, for the pages of docs/experiments.
//
//   npm run picture --prefix tests/browser -- REPORT.html IMAGE.png
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch, open } from "./page.mjs";

const from = process.env.INIT_CWD ?? process.cwd();
const [report, image] = process.argv.slice(2);
if (!image) {
  console.error("picture takes a report and the file to write: REPORT.html IMAGE.png");
  process.exit(2);
}
const browser = await launch();
try {
  const { page, close } = await open(browser, pathToFileURL(resolve(from, report)).href, { script: false });
  await page.locator("figure", { hasText: "Effect of each variant" }).first().screenshot({ path: resolve(from, image) });
  await close();
} finally {
  await browser.close();
}
