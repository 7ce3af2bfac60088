import { Navigate } from '@tanstack/react-router'
import { EVERY, placesOf, useAccess } from '../api/access.ts'
import { Loading } from '../parts/lists/states.tsx'
import { PageHead } from '../parts/page.tsx'
import { knownNamespace, lastNamespace } from '../preferences.ts'
import { flags as words } from '../words/flags.ts'

/** Redirects to the flags of the first permitted namespace, `default` if permitted. */
const ToFirst = () => {
  const { access, settled } = useAccess()
  if (!settled)
    return (
      <>
        <PageHead heading={words.heading} title={[words.heading]} />
        <Loading />
      </>
    )
  const places = access ? placesOf(access, 'flag.read') : []
  const ns = places[0] === EVERY || places.includes(lastNamespace()) ? lastNamespace() : (places[0] ?? lastNamespace())
  return <Navigate to="/ns/$ns/flags" params={{ ns }} replace />
}

/** Redirects to the flags of the namespace that was last open, else of the first permitted one. */
export const Home = () => {
  const ns = knownNamespace()
  return ns === undefined ? <ToFirst /> : <Navigate to="/ns/$ns/flags" params={{ ns }} replace />
}
