import type { GenerateRequest } from '@agentfleet/protocol/inference';
import type { Model, Token } from './library.ts';
import type { Suspect } from '../suspects.ts';

/** Lines that the model is shown around the one that it rewrites. */
const around = 10;
const maxLineChars = 200;
const maxWordsChars = 400;

/** What a reply must be: one line of the file, rewritten. */
export const replySchema = {
  type: 'object',
  properties: { text: { type: 'string', maxLength: maxLineChars } },
  required: ['text'],
  additionalProperties: false,
} as const;

/** The prompt for one line, in the chat format of SmolLM2. Only the format's own marks are special tokens: what comes from the request cannot end a turn. */
export function promptTokens(model: Pick<Model, 'tokenize'>, request: GenerateRequest, suspect: Suspect): Token[] {
  const mark = (text: string): Token[] => model.tokenize(text, true);
  const plain = (text: string): Token[] => model.tokenize(text);
  return [
    ...mark('<|im_start|>system\n'),
    ...plain(
      'You repair programs. You are given a part of a file and one line of it that may be wrong. Answer with JSON: {"text": the corrected line}.',
    ),
    ...mark('<|im_end|>\n<|im_start|>user\n'),
    ...plain(question(request, suspect)),
    ...mark('<|im_end|>\n<|im_start|>assistant\n'),
  ];
}

function question({ goal, files, localisation }: GenerateRequest, { file, line }: Suspect): string {
  const { path = '', content = '' } = files[file] ?? {};
  const lines = content.split('\n').map((text) => text.slice(0, maxLineChars));
  const shown = lines.slice(Math.max(0, line - 1 - around), line + around).join('\n');
  const failing = localisation.failingTests[0]?.message.slice(0, maxWordsChars) ?? '';
  const failure = failing === '' ? '' : `A test fails: ${failing}\n`;
  return `${goal.slice(0, maxWordsChars)}\n${failure}${path}:\n${shown}\n\nThe line that may be wrong:\n${lines[line - 1] ?? ''}\n`;
}
