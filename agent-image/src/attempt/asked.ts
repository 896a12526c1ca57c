import { answerFile } from './answer.ts';
import { isArtifactCheck, isCommandCheck, type Check } from '@agentfleet/protocol/api';

/** Characters of a JSON schema that are shown. */
const maxSchema = 4000;

/**
 * What a check asks for, in words. Pure.
 *
 * @example
 * asked({ name: 'unit', type: 'Command', command: ['npm', 'test'], … }); // 'npm test'
 */
export function asked(check: Check): string {
  if (isCommandCheck(check)) return check.command.map(quoted).join(' ');
  if (!isArtifactCheck(check)) return 'a person accepts the result, with the change as evidence';
  const { path, minBytes, maxBytes, contains = [], jsonSchema } = check;
  return [
    path === answerFile ? `the answer that submit hands in is written to ${path} for you; do not write it` : `the file ${path} is there`,
    ...(minBytes === undefined ? [] : [`it has at least ${minBytes} bytes`]),
    ...(maxBytes === undefined ? [] : [`it has at most ${maxBytes} bytes`]),
    ...contains.map((text) => `it contains ${JSON.stringify(text)}`),
    ...(jsonSchema === undefined ? [] : [`it is JSON that fulfils the schema ${jsonSchema.slice(0, maxSchema)}`]),
  ].join('; ');
}

/** A word as a shell takes it, so that the command can be copied. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
