import type { SnapshotRecord } from '@agentfleet/protocol/keeper';
import { DurableFailure } from './failure.ts';
import type { LogRange } from './places.ts';
import type { Sealer } from './seal.ts';

const format = 'agentfleet.dev/checkpoint/v1';

/** What a checkpoint holds. */
export interface Checkpoint {
  readonly task: { readonly namespace: string; readonly uid: string };
  readonly epoch: number;
  /** RFC 3339. */
  readonly at: string;
  /** The newest record that the named files of the log hold. */
  readonly head: { readonly seq: number; readonly hash: string };
  /** Oldest first. */
  readonly snapshots: readonly SnapshotRecord[];
  /** Manifest of each snapshot, by id: the name of its blob. */
  readonly manifests: Readonly<Record<string, string>>;
  readonly logs: readonly LogRange[];
}

/** What everybody may read who may read the store: names without meaning, so that a sweep needs no key. */
export interface Envelope {
  readonly format: typeof format;
  readonly packs: readonly string[];
  readonly manifests: readonly string[];
  /** RFC 3339; from then on nobody needs it. Null while the task goes on. */
  readonly expires: string | null;
  /** The sealed checkpoint, base64. */
  readonly body: string;
}

export async function encodeCheckpoint(
  sealer: Sealer,
  key: string,
  checkpoint: Checkpoint,
  { packs, expires }: Pick<Envelope, 'packs' | 'expires'>,
): Promise<string> {
  const manifests = [...new Set(Object.values(checkpoint.manifests))];
  const body = (await sealer.seal(key, Buffer.from(JSON.stringify(checkpoint)))).toString('base64');
  const envelope: Envelope = { format, packs, manifests, expires, body };
  return `${JSON.stringify(envelope)}\n`;
}

/** @throws DurableFailure `Damaged` */
export function readEnvelope(key: string, content: Buffer): Envelope {
  try {
    const envelope = JSON.parse(content.toString('utf8')) as Partial<Envelope>;
    const names = (list: unknown): boolean => Array.isArray(list) && list.every((one) => typeof one === 'string');
    const known = envelope.format === format && typeof envelope.body === 'string';
    if (known && names(envelope.packs) && names(envelope.manifests)) return envelope as Envelope;
  } catch {
    // said below, as for what is JSON of another form
  }
  throw new DurableFailure('Damaged', `${key} is no checkpoint: it was cut, or something else lies there`);
}

/** @throws DurableFailure `Damaged`, `WrongKey` */
export async function openCheckpoint(sealer: Sealer, key: string, envelope: Envelope): Promise<Checkpoint> {
  const content = await sealer.open(key, Buffer.from(envelope.body, 'base64'));
  return JSON.parse(content.toString('utf8')) as Checkpoint;
}
