// A real browser before the service of the dashboard, and what is asked of its pages.
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { createServer, type DashboardConfig } from '@agentfleet/dashboard';
import { silentLog } from '@agentfleet/kube';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const output = fileURLToPath(new URL('../.output/ui/', import.meta.url));
const docs = fileURLToPath(new URL('../../docs/images/', import.meta.url));
/** Pictures of docs/dashboard.md, which AGENTFLEET_SHOTS=docs makes anew. */
const inDocs = new Set(['fleet-wide-light', 'task-wide-dark', 'decide-wide-light', 'rollouts-wide-dark', 'fleet-narrow-light']);
const builtPage = fileURLToPath(new URL('../../dashboard/dist', import.meta.url));
const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Debian's. */
export const chromiumPath = '/usr/bin/chromium';

export const sizes = { wide: { width: 1280, height: 860 }, narrow: { width: 390, height: 780 } } as const;
export type Size = keyof typeof sizes;
type Scheme = 'light' | 'dark';

export interface OpenOptions {
  readonly token?: string;
  readonly size?: Size;
  readonly scheme?: Scheme;
}

/** The service with the built page, for users with tokens. */
export const pageServer = (cluster: DashboardConfig['cluster']): ReturnType<typeof createServer> => {
  const settings = { mode: 'Token', readOnly: false, namespaces: [], trustProxy: false, version: '0.0.0' } as const;
  return createServer({ cluster, page: builtPage, ...settings }, { log: silentLog });
};

export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath, args: ['--disable-gpu', '--font-render-hinting=none'] });

/** Opens a page in a fresh browser context, logged in with a token where one is given. Errors that the page reports are kept. */
export async function openPage(
  { browser, address }: { readonly browser: Browser; readonly address: string },
  path: string,
  { token, size = 'wide', scheme = 'light' }: OpenOptions,
): Promise<OpenPage> {
  const context = await browser.newContext({ viewport: sizes[size], colorScheme: scheme, baseURL: address, reducedMotion: 'reduce' });
  if (token !== undefined) {
    const answer = await context.request.post('/api/session', { data: { token } });
    if (!answer.ok()) throw new Error(`login: ${answer.status()} ${await answer.text()}`);
  }
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    // Of plain http on an address that is no loopback browsers say that they ignore a header.
    if (message.type() === 'error' && !/Failed to load resource|Cross-Origin-Opener-Policy/.test(message.text()))
      faults.push(message.text());
  });
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(path);
  return new OpenPage(context, page, faults, await readFile(axeFile, 'utf8'));
}

/** Members of a finding of axe that tests read. */
interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** A page, and what is asked of it. Code for the page is text: its types are not those of Node. */
export class OpenPage {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors and dialogs of the page so far. */
  readonly faults: readonly string[];
  readonly #axe: string;

  constructor(context: BrowserContext, page: Page, faults: readonly string[], axe: string) {
    this.context = context;
    this.page = page;
    this.faults = faults;
    this.#axe = axe;
  }

  /** Waits until a text is seen. */
  async sees(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).filter({ visible: true }).first().waitFor();
  }

  /** Returns the findings of axe, in a line each. */
  async axe(): Promise<readonly string[]> {
    await this.page.evaluate(this.#axe);
    const found = await this.page.evaluate<readonly Violation[]>('axe.run().then(({ violations }) => violations)');
    return found.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary.slice(0, 300)}`),
    );
  }

  /** Reports whether the page is wider than the window. */
  overflows(): Promise<boolean> {
    return this.page.evaluate<boolean>('document.documentElement.scrollWidth > window.innerWidth + 1');
  }

  async shot(name: string): Promise<void> {
    await mkdir(output, { recursive: true });
    await this.page.screenshot({ path: `${output}${name}.png` });
    if (process.env['AGENTFLEET_SHOTS'] === 'docs' && inDocs.has(name))
      await copyFile(`${output}${name}.png`, `${docs}dashboard-${name}.png`);
  }

  close(): Promise<void> {
    return this.context.close();
  }
}
