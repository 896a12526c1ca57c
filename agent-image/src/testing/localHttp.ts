import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock, type Clock } from '@agentfleet/kube';

/** A server on a free port of the loopback; disposing of it cuts its connections. */
export interface LocalHttp extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
}

/** For tests only: serves HTTP in this process. */
export async function serveHttp(handle: RequestListener): Promise<LocalHttp> {
  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}`, port, [Symbol.asyncDispose]: close };
}

/** Time whose waits pass at once and are counted, so that retries need no patience; a longer one, as the limit of a try is, stays real. */
export function hastyClock(longest: number): Clock & { readonly waits: readonly number[] } {
  let ahead = 0;
  const waits: number[] = [];
  return {
    waits,
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic() + ahead,
    after: (ms, run) => {
      if (ms > longest) return systemClock.after(ms, run);
      waits.push(ms);
      return systemClock.after(0, () => {
        ahead += ms;
        run();
      });
    },
  };
}
