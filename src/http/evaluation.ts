import { type Compiled, compileFlag } from '../evaluation/compile.ts'
import type { Compile } from '../projections/catalog.ts'

/** Compiles flag documents as the catalog holds them. */
export const compile: Compile<Compiled> = (flag, segment) => compileFlag(flag, segment)
