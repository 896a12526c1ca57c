import { Ajv } from 'ajv';
import { briefKey, PoolBrief } from '@agentfleet/protocol/pool';
import type { ConfigMap } from '../resources.ts';

/** A brief, or in one sentence what is wrong with it and what to do. */
export type ParsedBrief = { readonly brief: PoolBrief } | { readonly problem: string };

const cure = 'the operator writes it; look at the status of the ExpertPool';

/** Makes the function that reads a brief from its ConfigMap; compiling the schema is done once. */
export function briefParser(): (configMap: ConfigMap) => ParsedBrief {
  const validate = new Ajv({ strict: false, allErrors: false }).compile<PoolBrief>(PoolBrief);
  return (configMap) => {
    const text = configMap.data?.[briefKey];
    const where = `ConfigMap ${configMap.metadata.namespace ?? ''}/${configMap.metadata.name}`;
    if (text === undefined) return { problem: `${where} has no key ${briefKey}; ${cure}` };
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return { problem: `${briefKey} of ${where} is not JSON; ${cure}` };
    }
    if (validate(value)) return { brief: value };
    const [error] = validate.errors ?? [];
    return { problem: `${briefKey} of ${where} is not a brief: ${error?.instancePath || '/'} ${error?.message ?? ''}; ${cure}` };
  };
}
