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
  if (isCommandCheck(check)) return check.command.join(' ');
  if (!isArtifactCheck(check)) return 'a person accepts the result, with the change as evidence';
  const { path, minBytes, maxBytes, contains = [], jsonSchema } = check;
  return [
    `the file ${path} is there`,
    ...(minBytes === undefined ? [] : [`it has at least ${minBytes} bytes`]),
    ...(maxBytes === undefined ? [] : [`it has at most ${maxBytes} bytes`]),
    ...contains.map((text) => `it contains ${JSON.stringify(text)}`),
    ...(jsonSchema === undefined ? [] : [`it is JSON that fulfils the schema ${jsonSchema.slice(0, maxSchema)}`]),
  ].join('; ');
}
