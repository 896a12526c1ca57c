import { testOperator } from '../testing/table.ts';
import { property } from './property.ts';

testOperator(property, [
  { before: 'x = set.length;\n', after: 'x = set.size;\n' },
  { before: 'x = item.price;\ny = item.count;\n', after: 'x = item.count;\ny = item.count;\n' },
]);
