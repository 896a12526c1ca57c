import { defineResource, type KubeObject } from '../api/resource.ts';
import { createTransport } from '../transport/transport.ts';
import type { Transport } from '../transport/types.ts';
import { startFakeServer, type FakeApiServer, type FakeServerOptions } from './server.ts';

/** A custom resource for tests of this package. */
export interface Widget extends KubeObject {
  readonly spec?: { readonly size?: number; readonly list?: readonly string[] };
  readonly status?: object;
}

export const widgets = defineResource<Widget>('test.example.com/v1', 'Widget', 'widgets');

export interface Bed extends AsyncDisposable {
  readonly server: FakeApiServer;
  readonly transport: Transport;
}

/** A fake server that knows widgets, and a transport to it. */
export async function testBed(options: FakeServerOptions = {}): Promise<Bed> {
  const server = await startFakeServer({ kinds: [{ resource: widgets, statusSubresource: true, generation: true }], ...options });
  const transport = createTransport(server.config, { userAgent: 'test/1' });
  const close = async (): Promise<void> => {
    await transport.close();
    await server.close();
  };
  return { server, transport, [Symbol.asyncDispose]: close };
}

/** Waits until a condition holds; rejects after ten seconds with its name. */
export async function eventually(what: string, holds: () => boolean): Promise<void> {
  for (let i = 0; i < 1000; i += 1) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`never came true: ${what}`);
}
