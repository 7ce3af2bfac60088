import { flags } from './flags.ts'
import { namespaces } from './namespaces.ts'
import { anyProjection } from './projection.ts'
import { segments } from './segments.ts'
import { tokens } from './tokens.ts'

/** Every read model there is. */
export const projections = [
  anyProjection(tokens),
  anyProjection(namespaces),
  anyProjection(flags),
  anyProjection(segments),
]
