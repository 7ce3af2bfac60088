import { erasures } from './erasures.ts'
import { flags } from './flags.ts'
import { lives } from './history/incarnations.ts'
import { anyProjection } from './projection.ts'
import { namespaces, segments } from './resource-model.ts'
import { tokens } from './tokens.ts'

/** Read models of the resources of clients. */
export const resources = [
  anyProjection(tokens),
  anyProjection(namespaces),
  anyProjection(flags),
  anyProjection(segments),
]

/** Read models with one row per stream. */
export const projections = [...resources, ...lives, anyProjection(erasures)]
