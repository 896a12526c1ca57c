import type { Static } from 'typebox';
import { toolDefinitions, type BoundedTool } from '../chat/definitions.ts';
import { integer, optional, rule, setOf, struct, text } from './schema/index.ts';

const builtIn = toolDefinitions.map(({ name }) => name);
const builtInList = `[${builtIn.map((name) => `'${name}'`).join(', ')}]`;

const deny = setOf(
  'Names of tools that models do not have, beside those that the pool, or the task, denies.',
  text('Name of a tool.', { max: 100, min: 1, pattern: '^[a-z0-9_][-a-zA-Z0-9_.]*$' }),
  {
    max: 64,
    rules: [
      rule(
        `self.all(name, name in ${builtInList} || name.contains('__'))`,
        `spec.tools.deny[] must be one of ${builtIn.join(', ')}, or <server>__<tool> for a tool of an MCP server; correct the name`,
      ),
      rule("!('submit' in self)", 'spec.tools.deny[] must not be submit, without which no work is handed in; remove it'),
    ],
  },
);

const timeouts = (description: string) =>
  struct(description, {
    bash: optional(integer('Seconds of one command; 600 where nothing is set.', 1, 3600)),
    fetch: optional(integer('Seconds of one page; 30 where nothing is set.', 1, 3600)),
  } satisfies Record<BoundedTool, unknown>);

/** `spec.tools` of a pool. */
export const PoolTools = struct('What models have of the tools.', {
  deny: optional(deny),
  timeouts: optional(timeouts('Most seconds of one call; a task may ask for less.')),
});
export type PoolTools = Static<typeof PoolTools>;

/** `spec.tools` of a task. */
export const TaskTools = struct('What the model has of the tools.', {
  deny: optional(deny),
  timeouts: optional(timeouts('Most seconds of one call, of those that the pool allows.')),
});
export type TaskTools = Static<typeof TaskTools>;
