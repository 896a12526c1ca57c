import { Ajv, type ValidateFunction } from 'ajv';
import { ajvOptions, Run } from '@agentfleet/protocol/api';

/** Fields that carry the report; without them it is refused anyway. */
const required = new Set<string>(Run.required);

export interface ValidRun {
  readonly run: Run;
  /** Fields that the API server would refuse, with the reason. */
  readonly dropped: readonly string[];
}

/**
 * Makes the function that leaves out what the API server would refuse: one wrong field must not cost the report of
 * how the attempt ended.
 */
export function runFilter(): (run: Run) => ValidRun {
  const ajv = new Ajv({ ...ajvOptions, useDefaults: false });
  const checks = new Map<string, ValidateFunction>(Object.entries(Run.properties).map(([field, schema]) => [field, ajv.compile(schema)]));
  return (run) => {
    const dropped: string[] = [];
    const kept = Object.entries(run).filter(([field, value]) => {
      const check = checks.get(field);
      if (value === undefined) return false;
      if (required.has(field) || check?.(value) === true) return true;
      const [error] = check?.errors ?? [];
      dropped.push(`${field}${error?.instancePath ?? ''}: ${error?.message ?? 'unknown field'}`);
      return false;
    });
    return { run: Object.fromEntries(kept) as Run, dropped };
  };
}
