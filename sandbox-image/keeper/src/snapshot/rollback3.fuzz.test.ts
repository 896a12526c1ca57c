import { testPart } from './testing/fuzz/part.ts';

testPart(3);
