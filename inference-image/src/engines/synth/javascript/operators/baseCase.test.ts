import { testOperator } from '../testing/table.ts';
import { baseCase } from './baseCase.ts';

testOperator(baseCase, [
  {
    before: 'function mean(values: number[]): number {\n  return sum(values) / values.length;\n}\n',
    after: 'function mean(values: number[]): number {\n  if (values.length === 0) return 0;\n  return sum(values) / values.length;\n}\n',
  },
  { before: 'const f = (a) => {\n  return a.b;\n};\n', after: 'const f = (a) => {\n  if (!a) return null;\n  return a.b;\n};\n' },
]);
