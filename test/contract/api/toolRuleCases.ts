import { toolDefinitions } from '@agentfleet/protocol/chat';
import { fullPool, fullTask, workspaces } from './examples.ts';
import type { Node } from './fields.ts';
import { change, type RuleCase } from './ruleCase.ts';

const builtIn = toolDefinitions.map(({ name }) => name).join(', ');

/** Rules of `spec.tools`, which pools and tasks share. */
function shared(base: Node): readonly RuleCase[] {
  return [
    change(
      base,
      'spec.tools.deny',
      ['bash', 'docs__search'],
      ['bash', 'shell'],
      `spec.tools.deny[] must be one of ${builtIn}, or <server>__<tool> for a tool of an MCP server; correct the name`,
    ),
    change(
      base,
      'spec.tools.deny',
      ['undo'],
      ['undo', 'submit'],
      'spec.tools.deny[] must not be submit, without which no work is handed in; remove it',
    ),
  ];
}

export const toolCases: readonly RuleCase[] = [fullPool, fullTask(workspaces['Git']!)].flatMap(shared);
