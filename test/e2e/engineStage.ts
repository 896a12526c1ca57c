// Inputs and requests of played engines on the real node.
import { expertsToken } from '../../hack/sandbox/index.ts';
import type { Fleet, Pod } from './fleet.ts';

/** Stands for a model: headers like real ones, and almost no weights. */
export function safetensors(): Buffer {
  const header = Buffer.from(JSON.stringify({ w: { dtype: 'F32', shape: [4], data_offsets: [0, 16] } }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.byteLength));
  return Buffer.concat([length, header, Buffer.alloc(16)]);
}

/** Files beside the weights of a model. */
const config = {
  hidden_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  intermediate_size: 128,
  vocab_size: 256,
};
export const smallModel = { 'config.json': Buffer.from(JSON.stringify(config)), 'tokenizer.json': Buffer.from('{}') };

/** A request for one repair. */
export const requestTo = (role: 'Generalist' | 'Specialist') => ({
  requestId: 'r',
  role,
  goal: 'Make it pass.',
  files: [{ path: 'add.py', content: 'def add(a, b):\n    return a - b\n' }],
  localisation: { spectrum: { passed: 0, failed: 1, lines: [] }, failingTests: [] },
  k: 1,
});

export interface Answer {
  readonly status: number;
  readonly body: { readonly engine?: string; readonly candidates?: readonly { readonly edits: readonly unknown[] }[] };
}

/** Returns the header that servers of the file's namespace accept, as the operator has it. */
export async function bearer({ kubectl, namespace, system }: Fleet): Promise<Readonly<Record<string, string>>> {
  return { authorization: `Bearer ${await expertsToken(kubectl, system, namespace)}` };
}

export async function post(url: string, body: object, more: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const headers = { 'content-type': 'application/json', ...more };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

/** The kubelet's status of a container. */
interface ContainerView {
  readonly name: string;
  readonly containerID?: string;
  readonly restartCount: number;
  readonly state?: {
    readonly running?: { readonly startedAt: string };
    readonly terminated?: { readonly finishedAt: string; readonly exitCode: number };
  };
  readonly lastState?: { readonly terminated?: { readonly finishedAt: string } };
}

export function containerOf({ status }: Pod, name: string): ContainerView | undefined {
  type Views = readonly ContainerView[];
  const views = status as unknown as { readonly initContainerStatuses?: Views; readonly containerStatuses?: Views };
  const { initContainerStatuses = [], containerStatuses = [] } = views;
  return [...initContainerStatuses, ...containerStatuses].find((container) => container.name === name);
}
