import { createHash } from 'node:crypto';
import type { Edit, ShellAct } from '@agentfleet/protocol/inference';

/** JSON with keys in UTF-16 order and no blanks (RFC 8785) of what JSON itself can hold. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item: unknown) => canonicalJson(item)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}

/**
 * Names what a candidate would do in a task: an approval of it holds for the same act in every epoch and attempt.
 *
 * @param unseen how many of its commands were begun and may be done: to do them again is another act, which nobody allowed yet
 */
export function actionDigest(task: string, edits: readonly Edit[], acts: readonly ShellAct[], unseen = 0): string {
  const act = { task, edits, acts, ...(unseen > 0 && { unseen }) };
  return `sha256:${createHash('sha256').update(canonicalJson(act)).digest('hex')}`;
}

/** Names a question of the model in a task; `call` names the tool call that asks it. */
export function questionDigest(task: string, call: string, text: string): string {
  return `sha256:${createHash('sha256')
    .update(canonicalJson({ task, call, question: text }))
    .digest('hex')}`;
}
