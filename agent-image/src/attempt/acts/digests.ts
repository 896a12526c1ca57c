import { createHash } from 'node:crypto';
import type { Edit, ShellAct } from '@agentfleet/protocol/inference';
import { canonicalJson } from '@agentfleet/protocol/text';

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
