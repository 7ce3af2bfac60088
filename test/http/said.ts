import { Refusal } from '../../src/errors.ts'

/** What a reader says: the value, or `reason: message`. */
export const said = (read: () => unknown): unknown => {
  try {
    return read()
  } catch (error) {
    if (error instanceof Refusal) return `${error.reason}: ${error.message}`
    throw error
  }
}
