import { flags } from './flags.ts'
import { namespaces } from './namespaces.ts'
import { anyProjection } from './projection.ts'
import { segments } from './segments.ts'
import { tokens } from './tokens.ts'

/** Read models of the resources of clients. */
export const resources = [
  anyProjection(tokens),
  anyProjection(namespaces),
  anyProjection(flags),
  anyProjection(segments),
]
