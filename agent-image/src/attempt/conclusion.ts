import type { FailureClass } from '@agentfleet/protocol/api';
import { answerFile } from './answer.ts';
import type { JudgedCheck } from './baseline.ts';

/** What the end of the work shows beside checks that all hold. */
export interface Shown {
  /** The tree is another one than snapshot 0. */
  readonly changed: boolean;
  /** The model said something in words. */
  readonly answer: boolean;
  /** A person accepted the result; false also where nobody was asked. */
  readonly review: boolean;
}

/** How an attempt ends whose checks all hold in a fresh container. */
export type Conclusion =
  | {
      readonly result: 'Succeeded';
      readonly reason: 'ChecksHold' | 'ReviewAccepted' | 'AnswerAccepted' | 'AlreadyHolds';
      readonly message: string;
    }
  | { readonly result: 'Failed'; readonly class: FailureClass & 'Unproved'; readonly reason: 'NothingProved'; readonly message: string };

type Judged = Pick<JudgedCheck, 'judgement'> & { readonly check: Pick<JudgedCheck['check'], 'type' | 'path' | 'expect'> };

/**
 * Decides what a result is worth on which all checks hold. Checks that failed at snapshot 0 prove the change by themselves. Those
 * that held there prove nothing: then a person has to have accepted a change, or the answer that a check asks for has to be
 * there. A check that is to pass and nothing more (`expect: Pass`) is its author's word that passing is enough. Pure.
 *
 * @param checks all checks but reviews, as they were judged at snapshot 0
 */
export function conclusion(checks: readonly Judged[], { changed, answer, review }: Shown): Conclusion {
  const failed = checks.filter(({ judgement }) => judgement.failing.length > 0);
  const asked = checks.some(({ check }) => isAnswer(check));
  if (failed.length > 0) {
    if (review) return succeeded('ReviewAccepted', 'a person accepted the result');
    if (answer && failed.every(({ check }) => isAnswer(check))) return succeeded('AnswerAccepted', `the answer is ${answerFile}`);
    return succeeded('ChecksHold', null);
  }
  if (changed && review) return succeeded('ReviewAccepted', 'a person accepted the result');
  if (answer && asked) return succeeded('AnswerAccepted', `the answer is ${answerFile}`);
  if (checks.length > 0 && checks.every(({ check }) => check.expect === 'Pass'))
    return changed ? succeeded('ChecksHold', null) : succeeded('AlreadyHolds', 'nothing was changed: they held at snapshot 0 already');
  return { result: 'Failed', class: 'Unproved', reason: 'NothingProved', message: unproved(changed) };
}

function isAnswer({ type, path }: Pick<Judged['check'], 'type' | 'path'>): boolean {
  return type === 'Artifact' && path === answerFile;
}

function succeeded(reason: Exclude<Conclusion, { result: 'Failed' }>['reason'], how: string | null): Conclusion {
  const words = 'all checks hold in a fresh container';
  return { result: 'Succeeded', reason, message: how === null ? words : `${words}; ${how}` };
}

function unproved(changed: boolean): string {
  const offered = changed ? 'the change is offered as artifact change.patch' : 'nothing was changed';
  const cures = `a check of type Review, of type Artifact (${answerFile} for an answer), or one that fails until the goal is reached`;
  return `all checks held at snapshot 0 already, so that they prove nothing; ${offered}; create the task again with ${cures}`;
}
