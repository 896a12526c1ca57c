import { courses } from './scenarios/courses.ts';
import { crashSuite } from './suite.ts';

crashSuite('the courses of tasks', courses);
