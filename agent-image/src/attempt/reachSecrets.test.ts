import { describe, expect, it } from 'vitest';
import { secretsOf } from './sandboxSession.ts';

describe('secrets of an environment', () => {
  it('are values named like secrets and passwords of addresses, long enough to be looked for', () => {
    const environment = {
      NPM_CONFIG_REGISTRY: 'https://registry.example/npm/',
      npm_config__authToken: 'correct-horse-battery',
      PIP_INDEX_URL: 'https://reader:tr%2Fy-me-not@registry.example/simple/',
      SHORT_TOKEN: 'short',
      CI: 'true',
    };
    expect(secretsOf({ environment })).toEqual([
      { name: 'npm_config__authToken', value: 'correct-horse-battery' },
      { name: 'PIP_INDEX_URL.password', value: 'tr/y-me-not' },
    ]);
  });

  it('is nothing where nothing is secret', () => {
    expect(secretsOf({ environment: { NPM_CONFIG_REGISTRY: 'https://registry.example/' } })).toEqual([]);
  });
});
