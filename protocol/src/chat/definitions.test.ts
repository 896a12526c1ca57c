import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { bashDefinition, commandShells, toolDefinition, toolDefinitions } from './definitions.ts';

/** All descriptions are in every request: what they may cost, tokens of four characters. */
const budget = 1150;

const sent = toolDefinitions.map(({ name, description, parameters }) => ({
  type: 'function',
  function: { name, description, parameters },
}));

describe('definitions of tools', () => {
  it('cost no more than they may', () => {
    for (const shell of commandShells) {
      const { name, description, parameters } = bashDefinition(shell);
      const all = [{ type: 'function', function: { name, description, parameters } }, ...sent.slice(1)];
      expect(all.reduce((sum, one) => sum + JSON.stringify(one).length, 0) / 4).toBeLessThanOrEqual(budget);
    }
  });

  it.each(toolDefinitions)('$name is a schema that takes nothing else', ({ name, parameters, description }) => {
    expect(parameters).toMatchObject({ type: 'object', additionalProperties: false });
    expect(() => new Ajv({ strict: true }).compile(parameters)).not.toThrow();
    expect(toolDefinition(name).description).toBe(description);
    expect(name).toMatch(/^[a-z_]{3,32}$/);
  });

  it('name the shell that runs', () => {
    expect(commandShells.map((shell) => / with (\w+) /.exec(bashDefinition(shell).description)?.[1])).toEqual(['bash', 'sh', 'sh']);
  });
});
