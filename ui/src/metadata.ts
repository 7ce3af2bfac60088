import type { Authentication } from '../../src/contract/token.ts'

/** Returns a metadata value by the end of its name, because deployments choose the prefix. */
export const metadataOf = ({ metadata }: Pick<Authentication, 'metadata'>, name: string): string | undefined =>
  Object.entries(metadata).find(([key]) => key === name || key.endsWith(`.${name}`))?.[1]
