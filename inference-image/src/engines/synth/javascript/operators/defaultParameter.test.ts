import { testOperator } from '../testing/table.ts';
import { defaultParameter } from './defaultParameter.ts';

testOperator(defaultParameter, [
  { before: 'function f(n: number, all: string[]) {}\n', after: 'function f(n: number, all: string[] = []) {}\n' },
  { before: 'const f = ({ a, b }) => a;\n', after: 'const f = ({ a, b = 0 }) => a;\n' },
  { before: 'const f = ({ a, b }) => a;\n', after: 'const f = ({ a, b } = {}) => a;\n' },
]);
