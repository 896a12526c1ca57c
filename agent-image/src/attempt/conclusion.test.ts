import { expect, test } from 'vitest';
import { conclusion, type Shown } from './closing.ts';

type Judged = Parameters<typeof conclusion>[0][number];

const judged = (failing: readonly string[], check: Partial<Judged['check']> = {}): Judged =>
  ({ check: { type: 'Command', expect: 'Auto', ...check }, judgement: { failing } }) as unknown as Judged;
const held = judged([]);
const failed = judged(['t']);
const passing = judged([], { expect: 'Pass' });
const report = judged(['(run)'], { type: 'Artifact', path: 'report.json' });
const answerNew = judged(['(run)'], { type: 'Artifact', path: 'answer.md' });
const answerOld = judged([], { type: 'Artifact', path: 'answer.md' });

const nothing: Shown = { changed: false, answer: false, review: false };
const changed: Shown = { ...nothing, changed: true };
const answered: Shown = { ...nothing, answer: true };
const reviewed: Shown = { ...changed, review: true };

test.each<readonly [string, readonly Judged[], Shown, string]>([
  ['a check that failed at snapshot 0', [failed, held], changed, 'ChecksHold'],
  ['an artifact that was not there', [held, report], changed, 'ChecksHold'],
  ['a check that failed, and a person', [failed], reviewed, 'ReviewAccepted'],
  ['an answer that was not there', [held, answerNew], { ...answered, changed: true }, 'AnswerAccepted'],
  ['an answer beside a check that failed', [failed, answerNew], { ...answered, changed: true }, 'ChecksHold'],
  ['green checks and a change', [held], changed, 'NothingProved'],
  ['green checks and no change', [held], nothing, 'NothingProved'],
  ['green checks, a change and an answer that nobody asks for', [held], { ...changed, answer: true }, 'NothingProved'],
  ['green checks, a change and a person', [held], reviewed, 'ReviewAccepted'],
  ['a person alone, and a change', [], reviewed, 'ReviewAccepted'],
  ['a person alone, and no change', [], { ...nothing, review: true }, 'NothingProved'],
  ['an answer where one lay already', [answerOld], answered, 'AnswerAccepted'],
  ['no answer where one lay already', [answerOld], changed, 'NothingProved'],
  ['checks that only have to pass, and a change', [passing], changed, 'ChecksHold'],
  ['checks that only have to pass, and no change', [passing], nothing, 'AlreadyHolds'],
  ['checks of which one was to prove something', [passing, held], changed, 'NothingProved'],
])('%s', (_, checks, shown, reason) => {
  const end = conclusion(checks, shown);
  expect(end.reason).toBe(reason);
  expect(end.result).toBe(reason === 'NothingProved' ? 'Failed' : 'Succeeded');
  if (end.result === 'Failed') expect(end).toMatchObject({ class: 'Unproved', message: expect.stringMatching(/create the task again with a check of type Review/) as string });
}); // prettier-ignore
