import { expect, test } from 'vitest';
import { namingEnvironment } from './index.ts';

test('runners are asked to name every test, and keep the options they had', () => {
  expect(namingEnvironment({})).toEqual({ PYTEST_ADDOPTS: '-rA', GOFLAGS: '-v' });
  expect(namingEnvironment({ GOFLAGS: '-mod=vendor' })).toEqual({ PYTEST_ADDOPTS: '-rA', GOFLAGS: '-mod=vendor -v' });
});
