import { EVERY } from '../../api/access.ts'
import { useMissing } from '../../why-not.ts'

/**
 * Describes the right that the user lacks to read the history of a namespace, or all history; undefined if none is
 * missing or rights are not known yet.
 */
export const useMissingHistory = (namespaceKey?: string): string | undefined => {
  const missing = useMissing()
  const audit = missing({ right: 'audit.read', namespaceKey: EVERY })
  return audit === undefined || namespaceKey === undefined ? audit : missing({ right: 'history.read', namespaceKey })
}
