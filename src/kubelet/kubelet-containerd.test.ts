// Runs the kubelet's scenarios over a real containerd, where the host can.
import { kubeletSuite } from './kubelet.suite.ts';
import { realRuntime, whyNoRealRuntime } from './host/real-runtime.suite.ts';

kubeletSuite('kubelet over containerd', () => realRuntime('ktest0', '10.239.0.0/24'), whyNoRealRuntime());
