import { inject } from 'vitest';
import { plainPod as podOf } from '../provider/provider.ts';
import type { Fleet, Pod } from './fleet.ts';

/** Result of a request: its status and its body, or `silent` without an answer. */
const asking = `
const [target, method, token, body] = process.argv.slice(1);
const headers = { 'content-type': 'application/json', ...(token ? { authorization: 'Bearer ' + token } : {}) };
const request = { method, headers, body: method === 'POST' ? body : undefined, signal: AbortSignal.timeout(4000) };
fetch(target, request).then(async (answer) => answer.status + ' ' + (await answer.text()), () => 'silent').then(console.log);
`;

/** A pod of our image, which is fit for the level restricted. */
export const plainPod = (name: string, labels: Readonly<Record<string, string>>, program = 'setInterval(() => {}, 1000)'): object =>
  podOf(name, labels, inject('fleet').images['agent'] ?? '', ['-e', program]);

interface From {
  readonly namespace: string;
  readonly pod: string;
}

/** Pods that ask others, in any namespace. */
export function askingPods({ kubectl }: Fleet) {
  async function start(namespace: string, name: string, labels: Readonly<Record<string, string>> = {}, program?: string): Promise<void> {
    const pod = plainPod(name, labels, program) as { readonly metadata: object };
    await kubectl.apply({ ...pod, metadata: { ...pod.metadata, namespace } });
    await kubectl.waitReady(namespace, name, 60);
  }

  /** Status and body of an answer, or `silent`. */
  async function answer(from: From, target: string, method = 'GET', token = '', body = '{}'): Promise<string> {
    const command = ['/usr/local/bin/node', '-e', asking, '--', target, method, token, body];
    return (await kubectl.text(['-n', from.namespace, 'exec', from.pod, '--', ...command])).trim();
  }

  /** The status alone. */
  async function ask(from: From, target: string, method = 'GET', token = ''): Promise<string> {
    return (await answer(from, target, method, token)).split(' ')[0] ?? '';
  }

  /** Address of a pod with these labels, as it is written in a URL. */
  async function addressOf(namespace: string, selector: string): Promise<string> {
    const { items } = await kubectl.json<{ readonly items: readonly Pod[] }>(['-n', namespace, 'get', 'pods', '-l', selector]);
    const ip = items.find(({ status }) => status?.podIP !== undefined)?.status?.podIP ?? '';
    return ip.includes(':') ? `[${ip}]` : ip;
  }

  return { start, ask, answer, addressOf };
}
