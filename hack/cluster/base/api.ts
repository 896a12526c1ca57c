// hack, cluster/base: reader of the local API server as administrator. Of other folders imports hack/cache only.
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import type { Layout } from './layout.ts';

/** Reads from our API server as its administrator; a few milliseconds a call, where kubectl needs a hundred. */
export interface ApiReader {
  /** The parsed answer to a GET, or `undefined` for 404. Rejects on every other status and on network errors. */
  get(path: string): Promise<unknown>;
  /** Reports whether a health path such as `/readyz` answers 200. */
  healthy(path: string): Promise<boolean>;
}

/** A reader for the API server on a local port, with the administrator's certificate of this layout. */
export async function apiReader(layout: Layout, port: number): Promise<ApiReader> {
  const [ca, cert, key] = await Promise.all(['ca.crt', 'admin.crt', 'admin.key'].map((name) => readFile(join(layout.pki, name))));
  const ask = (path: string): Promise<{ status: number; body: string }> =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, path, ca, cert, key, agent: false as const, timeout: 5000 };
      const outgoing = request(options, (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (body += chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
        response.on('error', reject);
      });
      outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer for ${path} within 5 s`)));
      outgoing.on('error', reject);
      outgoing.end();
    });
  return {
    async get(path) {
      const { status, body } = await ask(path);
      if (status === 404) return undefined;
      if (status !== 200) throw new Error(`GET ${path}: status ${status}`);
      return JSON.parse(body) as unknown;
    },
    async healthy(path) {
      const { status } = await ask(path);
      return status === 200;
    },
  };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly lastHeartbeatTime?: string;
}

/**
 * Reports whether an object's status has the condition `type` with status True. With `since` (milliseconds since the
 * epoch), only a condition confirmed after it counts: a node stays Ready for half a minute after its kubelet has died.
 */
export function hasCondition(object: unknown, type: string, since = 0): boolean {
  const conditions = (object as { status?: { conditions?: readonly Condition[] } } | undefined)?.status?.conditions;
  const found = conditions?.find((condition) => condition.type === type && condition.status === 'True');
  if (!found) return false;
  // Heartbeats are whole seconds.
  return since === 0 || Date.parse(found.lastHeartbeatTime ?? '') >= Math.floor(since / 1000) * 1000;
}
