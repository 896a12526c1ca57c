// operator, placement: name of an engine in the ledger of GPUs. May import protocol/weights alone.
import { createHash } from 'node:crypto';

/** Longest name of an object. */
const longest = 253;

/**
 * The name in the ledger of GPUs of pods that serve `name`; `revision` where there may be others beside them, undefined for
 * those that are the only ones. It never changes while the pods live: a promotion renames and moves nothing. Pure.
 */
export function itemOf(name: string, revision: string | undefined): string {
  if (revision === undefined) return name;
  const whole = `${name}.${revision}`;
  if (whole.length <= longest) return whole;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  const room = longest - digest.length - revision.length - 2;
  return `${name.slice(0, room).replace(/[-.]+$/, '')}-${digest}.${revision}`;
}
