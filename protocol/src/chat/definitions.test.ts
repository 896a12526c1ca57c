import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { bashDefinition, commandShells, toolDefinition, toolDefinitions } from './definitions.ts';

describe('definitions of tools', () => {
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
