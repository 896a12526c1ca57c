// A real browser before the real service, which stands before a real API server and the real results server.
import { randomBytes } from 'node:crypto';
import { connect as dial, createServer as listen, type Server as NetServer, type Socket } from 'node:net';
import { kubeconfigConfig } from '@agentfleet/kube';
import type { Browser } from 'playwright-core';
import { kubeconfigPath } from '../../hack/cluster/index.ts';
import { ResultsBed } from '../contract/resultsBed.ts';
import { openPage, type OpenOptions, type OpenPage, pageServer, startBrowser } from './page.ts';

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
  readonly #app: Awaited<ReturnType<typeof pageServer>>;

  private constructor(results: ResultsBed, cable: Cable, browser: Browser, app: Awaited<ReturnType<typeof pageServer>>, address: string) {
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
