import { Type, type Static } from 'typebox';
import type { ChatRequest } from '@agentfleet/protocol/chat';
import { fieldsOf, jsonOf } from '@agentfleet/protocol/text';
import { refused } from './api.ts';

const open = { additionalProperties: true } as const;

/** A tool of a request, as far as it is read. */
export const ResponsesTool = Type.Object({ type: Type.String() }, open);
type ResponsesTool = Static<typeof ResponsesTool> & Readonly<Record<string, unknown>>;

/** A tool under the name by which a model calls it. */
export interface NamedTool {
  readonly type: 'function' | 'custom';
  readonly name: string;
  readonly namespace?: string;
}

/** Tools that the vendor runs: a model without them answers with its other tools. */
const vendorTools = /^(?:web_search|file_search|code_interpreter|image_generation|tool_search|programmatic_tool_calling)/;

/** The name of a tool among all of a request. */
export function wireName(name: string, namespace: unknown): string {
  if (typeof namespace !== 'string' || namespace === '') return name;
  return namespace.endsWith('__') ? `${namespace}${name}` : `${namespace}__${name}`;
}

/** The tools that a model calls, by its names for them. @throws GatewayError InvalidRequest */
export function toolsOf(tools: readonly ResponsesTool[]): readonly (NamedTool & { readonly wire: unknown })[] {
  return tools.flatMap((tool, at) => toolOf(tool, `tools.${at}`, undefined));
}

function toolOf(tool: ResponsesTool, at: string, namespace: string | undefined): readonly (NamedTool & { readonly wire: unknown })[] {
  const { type } = tool;
  if (vendorTools.test(type)) return [];
  if (type === 'namespace') {
    const inner = Array.isArray(tool['tools']) ? (tool['tools'] as readonly ResponsesTool[]) : [];
    return inner.flatMap((each, n) => toolOf(each, `${at}.tools.${n}`, String(tool['name'])));
  }
  if (type !== 'function' && type !== 'custom')
    throw refused(at, `a tool of type ${type} is not served: give it as a function, or as a custom tool that the program runs`);
  const name = typeof tool['name'] === 'string' ? tool['name'] : '';
  const described = type === 'function' ? functionOf(tool) : customOf(tool);
  const wire = { type: 'function', function: { name: wireName(name, namespace), ...described } };
  return [{ type, name, ...(namespace !== undefined && { namespace }), wire }];
}

function functionOf({ description, parameters, strict }: ResponsesTool): object {
  return {
    ...(typeof description === 'string' && { description }),
    ...(typeof parameters === 'object' && parameters !== null && { parameters }),
    ...(typeof strict === 'boolean' && { strict }),
  };
}

/** A tool whose input is a text: a function of one text. Its grammar is described, but not enforced. */
function customOf({ description, format }: ResponsesTool): object {
  const { type, syntax, definition } = (format ?? {}) as Readonly<Record<string, unknown>>;
  const grammar = type === 'grammar' ? `The input is a text of this grammar (${String(syntax)}):\n${String(definition)}` : '';
  const whole = [typeof description === 'string' ? description : '', grammar].filter((text) => text !== '').join('\n\n');
  const input = { type: 'string', description: 'the whole input, as it is' };
  return {
    ...(whole !== '' && { description: whole }),
    parameters: { type: 'object', properties: { input }, required: ['input'], additionalProperties: false },
  };
}

/** The arguments by which a model calls a custom tool. */
export function customArguments(input: unknown): string {
  return JSON.stringify({ input: typeof input === 'string' ? input : '' });
}

/** The input of a custom tool in the arguments of a call; a model that wrote it bare is understood. */
export function customInput(args: string): string {
  const { input } = fieldsOf(jsonOf(args));
  return typeof input === 'string' ? input : args;
}

/** Returns `tool_choice` and the tools that it leaves. @throws GatewayError InvalidRequest */
export function choiceOf(choice: unknown, tools: readonly { readonly wire: unknown }[]): Partial<ChatRequest> {
  const offered = tools.map(({ wire }) => wire) as NonNullable<ChatRequest['tools']>;
  if (offered.length === 0) return {};
  if (choice === undefined || choice === null) return { tools: offered };
  if (typeof choice === 'string') return { tools: offered, tool_choice: choice };
  const { type, name, namespace, mode, tools: allowed } = choice as Readonly<Record<string, unknown>>;
  if (type === 'function' || type === 'custom')
    return { tools: offered, tool_choice: { type: 'function', function: { name: wireName(String(name), namespace) } } };
  if (type !== 'allowed_tools' || !Array.isArray(allowed))
    throw refused('tool_choice', `${String(type)} is not served: name a function or a custom tool`);
  const names = new Set(
    (allowed as readonly Readonly<Record<string, unknown>>[]).map((each) => wireName(String(each['name']), each['namespace'])),
  );
  return { tools: offered.filter((tool) => names.has(tool.function.name)), tool_choice: mode === 'required' ? 'required' : 'auto' };
}
