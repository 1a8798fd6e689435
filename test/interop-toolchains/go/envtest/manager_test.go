package envtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"

	v1 "k8ts.test/interop/gadgets/v1"
	"k8ts.test/interop/gadgets/v1beta1"
)

const finalizer = "interop.k8ts.test/cleanup"

// reconciler makes a ConfigMap of each Gadget by server-side apply and reports it in the status.
type reconciler struct {
	client.Client
	recorder events.EventRecorder
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	gadget := &v1.Gadget{}
	if err := r.Get(ctx, request.NamespacedName, gadget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !gadget.DeletionTimestamp.IsZero() {
		if !controllerutil.RemoveFinalizer(gadget, finalizer) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, gadget))
	}
	if controllerutil.AddFinalizer(gadget, finalizer) {
		return ctrl.Result{}, r.Update(ctx, gadget)
	}
	owned := applycorev1.ConfigMap(gadget.Name, gadget.Namespace).
		WithData(map[string]string{"color": gadget.Spec.Color}).
		WithOwnerReferences(applymetav1.OwnerReference().
			WithAPIVersion(v1.GroupVersion.String()).WithKind("Gadget").WithName(gadget.Name).WithUID(gadget.UID).
			WithController(true).WithBlockOwnerDeletion(true))
	if err := r.Apply(ctx, owned, client.FieldOwner("gadgets"), client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	before := gadget.DeepCopyObject().(*v1.Gadget)
	gadget.Status.Ready = true
	gadget.Status.Replicas = gadget.Spec.Size
	meta.SetStatusCondition(&gadget.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Made", ObservedGeneration: gadget.Generation,
	})
	r.recorder.Eventf(gadget, nil, corev1.EventTypeNormal, "Made", "Making", "made of %s", gadget.Spec.Color)
	return ctrl.Result{}, r.Status().Patch(ctx, gadget, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

type defaulter struct{}

func (defaulter) Default(_ context.Context, gadget *v1.Gadget) error {
	if gadget.Spec.Size == 0 {
		gadget.Spec.Size = 1
	}
	return nil
}

type validator struct{}

func (validator) ValidateCreate(_ context.Context, gadget *v1.Gadget) (admission.Warnings, error) {
	if gadget.Spec.Color == "invisible" {
		return admission.Warnings{"nobody will see it"}, errors.New("invisible gadgets are not allowed")
	}
	return nil, nil
}

func (validator) ValidateUpdate(_ context.Context, old, next *v1.Gadget) (admission.Warnings, error) {
	if next.Spec.Size < old.Spec.Size {
		return nil, errors.New("gadgets do not shrink")
	}
	return nil, nil
}

func (validator) ValidateDelete(_ context.Context, gadget *v1.Gadget) (admission.Warnings, error) {
	if gadget.Labels["keep"] == "true" {
		return nil, errors.New("it is to be kept")
	}
	return nil, nil
}

type webhooks bool

const (
	withWebhooks    webhooks = true
	withoutWebhooks webhooks = false
)

func startManager(t *testing.T, identity string, hooks webhooks) ctrl.Manager {
	t.Helper()
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme.Scheme,
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "gadgets.interop.k8ts.test",
		LeaderElectionNamespace:       "default",
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr.To(3 * time.Second),
		RenewDeadline:                 ptr.To(2 * time.Second),
		RetryPeriod:                   ptr.To(200 * time.Millisecond),
		Controller:                    ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: env.WebhookInstallOptions.LocalServingHost, Port: env.WebhookInstallOptions.LocalServingPort,
			CertDir: env.WebhookInstallOptions.LocalServingCertDir,
		}),
	})
	must(t, err)
	must(t, manager.GetFieldIndexer().IndexField(t.Context(), &v1.Gadget{}, "spec.color", func(object client.Object) []string {
		return []string{object.(*v1.Gadget).Spec.Color}
	}))
	if hooks == withWebhooks {
		must(t, ctrl.NewWebhookManagedBy(manager, &v1.Gadget{}).
			WithDefaulter(defaulter{}).WithValidator(validator{}).Complete())
	}
	must(t, ctrl.NewControllerManagedBy(manager).Named(identity).For(&v1.Gadget{}).Owns(&corev1.ConfigMap{}).
		Complete(&reconciler{Client: manager.GetClient(), recorder: manager.GetEventRecorder("gadgets")}))
	return manager
}

func run(t *testing.T, manager ctrl.Manager) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- manager.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("manager: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func TestManager(t *testing.T) {
	first := startManager(t, "first", withWebhooks)
	stopFirst := run(t, first)
	eventually(t, "webhooks are served", func(ctx context.Context) (bool, error) {
		return first.GetWebhookServer().StartedChecker()(nil) == nil, nil
	})
	ctx := t.Context()
	<-first.Elected()

	t.Run("an object is reconciled: finalizer, owned object, status, event", func(t *testing.T) {
		gadget := &v1.Gadget{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "default"}, Spec: v1.GadgetSpec{Color: "red"}}
		must(t, direct.Create(ctx, gadget))
		if gadget.Spec.Size != 1 {
			t.Errorf("the webhook did not default: %+v", gadget.Spec)
		}
		eventually(t, "status", func(ctx context.Context) (bool, error) {
			err := direct.Get(ctx, client.ObjectKeyFromObject(gadget), gadget)
			return err == nil && meta.IsStatusConditionTrue(gadget.Status.Conditions, "Ready"), err
		})
		if gadget.Generation != 1 || gadget.Status.Conditions[0].ObservedGeneration != 1 {
			t.Errorf("generation %d, observed %+v", gadget.Generation, gadget.Status.Conditions)
		}
		made := &corev1.ConfigMap{}
		must(t, direct.Get(ctx, client.ObjectKeyFromObject(gadget), made))
		if made.Data["color"] != "red" || !metav1.IsControlledBy(made, gadget) {
			t.Errorf("made %+v", made)
		}
		eventually(t, "event", func(ctx context.Context) (bool, error) {
			list := &corev1.EventList{}
			err := direct.List(ctx, list, client.InNamespace("default"), client.MatchingFields{"involvedObject.name": "one", "reason": "Made"})
			return len(list.Items) > 0, err
		})
	})

	t.Run("a change of the owned object is undone", func(t *testing.T) {
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "default"}}
		must(t, direct.Patch(ctx, made, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"color":"blue"}}`))))
		eventually(t, "red again", func(ctx context.Context) (bool, error) {
			err := direct.Get(ctx, client.ObjectKeyFromObject(made), made)
			return made.Data["color"] == "red", err
		})
		must(t, direct.Delete(ctx, made))
		eventually(t, "made again", func(ctx context.Context) (bool, error) {
			err := direct.Get(ctx, client.ObjectKeyFromObject(made), made)
			return err == nil, client.IgnoreNotFound(err)
		})
	})

	t.Run("the cache answers by index", func(t *testing.T) {
		must(t, direct.Create(ctx, &v1.Gadget{ObjectMeta: metav1.ObjectMeta{Name: "two", Namespace: "default"}, Spec: v1.GadgetSpec{Color: "green"}}))
		eventually(t, "one green", func(ctx context.Context) (bool, error) {
			list := &v1.GadgetList{}
			err := first.GetClient().List(ctx, list, client.InNamespace("default"), client.MatchingFields{"spec.color": "green"})
			return len(list.Items) == 1 && list.Items[0].Name == "two", err
		})
		list := &v1.GadgetList{}
		must(t, direct.List(ctx, list, client.MatchingFields{"spec.color": "green"}))
		if len(list.Items) != 1 {
			t.Errorf("the server's own selectable field gave %d", len(list.Items))
		}
	})

	t.Run("the validating webhook refuses", func(t *testing.T) {
		err := direct.Create(ctx, &v1.Gadget{ObjectMeta: metav1.ObjectMeta{Name: "bad", Namespace: "default"}, Spec: v1.GadgetSpec{Color: "invisible"}})
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "invisible gadgets are not allowed") {
			t.Errorf("create: %v", err)
		}
		gadget := &v1.Gadget{}
		must(t, direct.Get(ctx, client.ObjectKey{Namespace: "default", Name: "one"}, gadget))
		patch := client.MergeFrom(gadget.DeepCopyObject().(*v1.Gadget))
		gadget.Spec.Size = 0
		if err := direct.Patch(ctx, gadget, patch); err != nil {
			t.Errorf("the default comes before validation: %v", err)
		}
		must(t, direct.Create(ctx, &v1.Gadget{ObjectMeta: metav1.ObjectMeta{Name: "kept", Namespace: "default", Labels: map[string]string{"keep": "true"}}}))
		kept := &v1.Gadget{ObjectMeta: metav1.ObjectMeta{Name: "kept", Namespace: "default"}}
		if err := direct.Delete(ctx, kept); !apierrors.IsForbidden(err) {
			t.Errorf("delete: %v", err)
		}
	})

	t.Run("schema and rules refuse", func(t *testing.T) {
		for says, spec := range map[string]v1.GadgetSpec{
			"thirteen is unlucky":     {Size: 13},
			"may not be more than 20": {Color: strings.Repeat("x", 21)},
		} {
			err := direct.Create(ctx, &v1.Gadget{ObjectMeta: metav1.ObjectMeta{Name: "refused", Namespace: "default"}, Spec: spec})
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", says, err)
			}
		}
	})

	t.Run("the other version is converted by the webhook", func(t *testing.T) {
		old := &v1beta1.Gadget{}
		must(t, direct.Get(ctx, client.ObjectKey{Namespace: "default", Name: "one"}, old))
		if old.Spec.Colour != "red" {
			t.Errorf("read: %+v", old.Spec)
		}
		must(t, direct.Create(ctx, &v1beta1.Gadget{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: "default"}, Spec: v1beta1.GadgetSpec{Colour: "grey", Size: 2}}))
		next := &v1.Gadget{}
		must(t, direct.Get(ctx, client.ObjectKey{Namespace: "default", Name: "old"}, next))
		if next.Spec.Color != "grey" || next.Spec.Size != 2 {
			t.Errorf("written: %+v", next.Spec)
		}
	})

	t.Run("another leader takes over", func(t *testing.T) {
		// It serves no webhooks: the first has the port.
		second := startManager(t, "second", withoutWebhooks)
		run(t, second)
		select {
		case <-second.Elected():
			t.Fatal("two leaders")
		case <-time.After(time.Second):
		}
		stopFirst()
		select {
		case <-second.Elected():
		case <-time.After(20 * time.Second):
			t.Fatal("no second leader")
		}
		gadget := &v1.Gadget{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "default"}}
		if err := direct.Delete(ctx, gadget); !apierrors.IsInternalError(err) {
			t.Errorf("failurePolicy Fail without a webhook: %v", err)
		}
		must(t, direct.Delete(ctx, &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "gadgets-validate"}}))
		must(t, direct.Delete(ctx, &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "gadgets-default"}}))
		eventually(t, "no webhook asks any more", func(ctx context.Context) (bool, error) {
			return direct.Delete(ctx, gadget) == nil, nil
		})
		eventually(t, "the finalizer is gone, and the object", func(ctx context.Context) (bool, error) {
			err := direct.Get(ctx, client.ObjectKeyFromObject(gadget), gadget)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
	})
}
