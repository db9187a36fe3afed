import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './app/global.css'
import { createRoot } from 'react-dom/client'
import { App } from './app/App'
import { applyDensity } from './lib/preferences'

applyDensity()
createRoot(document.getElementById('root')!).render(<App />)
