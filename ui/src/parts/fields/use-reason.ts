import { useParams } from '@tanstack/react-router'
import { EVERY, useAccess } from '../../api/access.ts'
import { common } from '../../words/common.ts'
import { tooLong } from '../editing/rules.ts'

const MOST = 500

/** Namespace in the address of the page; empty if there is none. */
export const useAddressedNamespace = (): string => {
  const { ns = '' } = useParams({ strict: false }) as { readonly ns?: string }
  return ns
}

/**
 * Returns the attributes of the reason field of a write in these namespaces, and the validation of a reason. `*` stands
 * for the deployment.
 */
export const useReason = (...namespaces: readonly string[]) => {
  const { access } = useAccess()
  const { reasonRequired = [] } = access ?? {}
  const required = [EVERY, ...namespaces].some((key) => reasonRequired.includes(key))
  return {
    field: { label: common.reason, hint: required ? common.reasonRequired : common.reasonHint, required },
    flawOf: (reason: string): { readonly reason?: string } =>
      required && reason.trim() === '' ? { reason: common.reasonMissing } : tooLong('reason', reason, MOST),
  }
}
