import { Redaction } from '@agentfleet/protocol/redact';
import type { Keepsake } from './artifacts.ts';
import type { Scope } from './scope.ts';

/** Name of the answer, as artifact and below the workspace. */
export const answerFile = 'answer.md';

/** A check as far as it may look at the answer. */
interface AnswerCheck {
  readonly type: string;
  readonly path?: string;
}

/** Whether one of the checks looks at the answer as a file of the workspace. */
export function asksForAnswer(checks: readonly AnswerCheck[]): boolean {
  return checks.some(({ type, path }) => type === 'Artifact' && path === answerFile);
}

/**
 * Writes the answer of the model to `answer.md` of the workspace where a check looks at it there, and nothing otherwise;
 * returns whether it did. To be called before the result is verified.
 */
export async function writeAnswer({ context, hands }: Pick<Scope, 'context' | 'hands'>, text: string): Promise<boolean> {
  if (!asksForAnswer(context.task.spec.checks)) return false;
  await hands.write(answerFile, Buffer.from(withNewline(text)));
  return true;
}

/** The answer as it leaves the sandbox: without secrets. */
export function shownAnswer(text: string): string {
  return new Redaction(() => undefined).open().text(text);
}

/** The whole answer, to outlive the sandbox. */
export function answerKeepsake(text: string): Keepsake {
  return { name: answerFile, type: 'text/markdown', content: () => Promise.resolve(withNewline(shownAnswer(text))) };
}

function withNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
