/** Conditions, and what others read from them. Imports api, runtime. */
export * from './conditions.ts';
export * from './kstatus.ts';
