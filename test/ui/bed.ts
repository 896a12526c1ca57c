// A real browser before the real service, which stands before a real API server and the real results server.
import { randomBytes } from 'node:crypto';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { connect as dial, createServer as listen, type Server as NetServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createServer, type DashboardConfig } from '@agentfleet/dashboard';
import { kubeconfigConfig, silentLog } from '@agentfleet/kube';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { kubeconfigPath } from '../../hack/cluster/index.ts';
import { ResultsBed } from '../contract/resultsBed.ts';

const output = fileURLToPath(new URL('../.output/ui/', import.meta.url));
const docs = fileURLToPath(new URL('../../docs/images/', import.meta.url));
/** Pictures of docs/dashboard.md, which AGENTFLEET_SHOTS=docs makes anew. */
const inDocs = new Set(['fleet-wide-light', 'task-wide-dark', 'decide-wide-light', 'rollouts-wide-dark', 'fleet-narrow-light']);
const builtPage = fileURLToPath(new URL('../../dashboard/dist', import.meta.url));
const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

export const sizes = { wide: { width: 1280, height: 860 }, narrow: { width: 390, height: 780 } } as const;
export type Size = keyof typeof sizes;
export type Scheme = 'light' | 'dark';

/** A way to the API server that can be cut and mended. */
class Cable {
  readonly #sockets = new Set<Socket>();
  readonly #server: NetServer;
  readonly port: number;
  #cut = false;

  private constructor(server: NetServer, port: number) {
    this.#server = server;
    this.port = port;
  }

  static async to(host: string, port: number): Promise<Cable> {
    const server = listen();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const cable = new Cable(server, typeof address === 'object' && address !== null ? address.port : 0);
    server.on('connection', (near) => {
      if (cable.#cut) {
        near.destroy();
        return;
      }
      const far = dial(port, host);
      for (const [a, b] of [
        [near, far],
        [far, near],
      ] as const) {
        cable.#sockets.add(a);
        a.on('error', () => b.destroy());
        a.on('close', () => {
          cable.#sockets.delete(a);
          b.destroy();
        });
        a.pipe(b);
      }
    });
    return cable;
  }

  cut(): void {
    this.#cut = true;
    for (const socket of this.#sockets) socket.destroy();
  }
  mend(): void {
    this.#cut = false;
  }
  close(): void {
    this.cut();
    this.#server.close();
  }
}

export class UiBed {
  readonly results: ResultsBed;
  readonly cable: Cable;
  readonly browser: Browser;
  readonly address: string;
  readonly #app: Awaited<ReturnType<typeof createServer>>;

  private constructor(results: ResultsBed, cable: Cable, browser: Browser, app: Awaited<ReturnType<typeof createServer>>, address: string) {
    this.results = results;
    this.cable = cable;
    this.browser = browser;
    this.#app = app;
    this.address = address;
  }

  static async start(): Promise<UiBed> {
    const results = await ResultsBed.start({ name: `payments-${randomBytes(2).toString('hex')}` });
    const cluster = await kubeconfigConfig({ file: await kubeconfigPath() });
    const { hostname, port } = new URL(cluster.server);
    const cable = await Cable.to(hostname, Number(port));
    const app = await pageServer({ ...cluster, server: `https://127.0.0.1:${cable.port}` });
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    return new UiBed(results, cable, await startBrowser(), app, address);
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.#app.close();
    this.cable.close();
    await this.results.close();
  }

  /** A ServiceAccount of the bed's namespace with a ClusterRole there, and its token. */
  async user(name: string, rules: readonly object[]): Promise<string> {
    const { results } = this;
    const token = await results.account(name);
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${results.namespace}`;
    await results.post(`${rbac}/roles`, { metadata: { name }, rules });
    const subjects = [{ kind: 'ServiceAccount', name, namespace: results.namespace }];
    await results.post(`${rbac}/rolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects,
    });
    return token;
  }

  open(path: string, options: OpenOptions = {}): Promise<OpenPage> {
    return openPage(this, path, options);
  }
}

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
  chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--disable-gpu', '--font-render-hinting=none'] });

/** A browser that nobody has used, logged in with a token where one is given. What the page reports as an error is kept. */
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
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) faults.push(message.text());
  });
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(path);
  return new OpenPage(context, page, faults, await readFile(axeFile, 'utf8'));
}

/** What tests read of a finding of axe. */
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

  /** What axe finds wrong, in a line each. */
  async axe(): Promise<readonly string[]> {
    await this.page.evaluate(this.#axe);
    const found = await this.page.evaluate<readonly Violation[]>('axe.run().then(({ violations }) => violations)');
    return found.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary.slice(0, 300)}`),
    );
  }

  /** Whether the page is wider than the window. */
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
