import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { isFailure } from '../../api/failure.ts'
import { keys } from '../../api/keys.ts'
import { readNamespace } from '../../api/namespaces.ts'
import { lastNamespace, rememberNamespace } from '../../preferences.ts'
import { useMissing } from '../../why-not.ts'
import { states } from '../../words/common.ts'
import { shell } from '../../words/shell.ts'
import { PageHead } from '../page.tsx'

const useRead = (ns: string | undefined, at: string | undefined, enabled: boolean) => {
  const { error, isPending } = useQuery({
    queryKey: [...keys.namespaces, 'exists', ns, at],
    queryFn: ({ signal }) => readNamespace(ns ?? '', signal, at),
    enabled,
  })
  return { isPending, isMissing: isFailure(error) && error.status === 404 }
}

/**
 * Whether the namespace of an empty list or of a missing resource exists at the moment that the page shows; undefined
 * while it is read. A namespace that cannot be read counts as existing.
 */
export const useNamespaceExists = (ns: string | undefined, at: string | undefined, isDoubtful: boolean) => {
  const why = useMissing()({ right: 'namespace.read', ...(ns !== undefined && { namespaceKey: ns }) })
  const enabled = isDoubtful && ns !== undefined && why === undefined
  const { isPending, isMissing } = useRead(ns, at, enabled)
  const isForgotten = enabled && isMissing && at === undefined && lastNamespace() === ns
  useEffect(() => {
    if (isForgotten) rememberNamespace('default')
  }, [isForgotten])
  if (!enabled) return true
  return isPending ? undefined : !isMissing
}

/** Whether the present page has found that a namespace does not exist. Sends no request. */
export const useIsMissing = (ns: string | undefined, at: string | undefined): boolean =>
  useRead(ns, at, false).isMissing

/** Page of a list whose namespace does not exist. */
export const NoNamespace = ({ ns, at }: { readonly ns: string; readonly at: string | undefined }) => (
  <>
    <PageHead heading={states.notFound(shell.namespace)} title={[states.notFound(shell.namespace), ns]} />
    <p>{states.noNamespace(ns, at !== undefined)}</p>
    <p>
      <Link to="/settings/namespaces">{states.goToNamespaces}</Link>
    </p>
  </>
)
