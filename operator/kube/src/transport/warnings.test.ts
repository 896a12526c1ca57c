import { describe, expect, it } from 'vitest';
import { type Log, silentLog } from '../runtime/log.ts';
import { WarningLog } from './transport.ts';

function reported(): { readonly warnings: WarningLog; readonly said: unknown[] } {
  const said: unknown[] = [];
  const log: Log = { ...silentLog, warn: (_, fields) => void said.push(fields?.['warning']) };
  return { warnings: new WarningLog(log), said };
}

describe('warnings of the server', () => {
  it('are reported once each, out of one header or of several', () => {
    const { warnings, said } = reported();
    warnings.read('299 - "v1beta1 is deprecated", 299 - "unknown field \\"spec.x\\""');
    warnings.read(['299 - "v1beta1 is deprecated"', '299 kube "another"']);
    warnings.read(undefined);
    expect(said).toEqual(['v1beta1 is deprecated', 'unknown field "spec.x"', 'another']);
  });

  it('of other codes, and after a thousand, are not', () => {
    const { warnings, said } = reported();
    warnings.read('199 - "cached"');
    for (let i = 0; i < 2000; i += 1) warnings.read(`299 - "number ${i}"`);
    expect(said).toHaveLength(1000);
  });
});
